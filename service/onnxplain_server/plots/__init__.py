"""Results as pictures: Vega-Lite version 6 specifications, as plain data that nobody here draws."""
