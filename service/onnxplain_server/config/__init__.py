"""Configuration: settings from flags, environment variables and a TOML file."""
