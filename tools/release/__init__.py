"""What a release is made by: its version in all files, its parts, its provenance and signatures."""
