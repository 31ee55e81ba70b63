"""Plot elements that several methods share: panels, bars, curves, axes, labels."""
