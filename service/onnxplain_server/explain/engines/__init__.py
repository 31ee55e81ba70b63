"""Engines beside the trees and the black box: when they apply to a request."""
