"""The only reader of environment and configuration file."""

from deep_research.settings.settings import ENV_PREFIX, Settings, load_settings, user_data_folder, variable_of

__all__ = ["ENV_PREFIX", "Settings", "load_settings", "user_data_folder", "variable_of"]
