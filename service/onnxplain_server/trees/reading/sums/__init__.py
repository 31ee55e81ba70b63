"""Sums of trees and a linear function of the features, read from one graph."""
