"""The methods: options in, result out. They arrange what an engine gives; none predicts."""
