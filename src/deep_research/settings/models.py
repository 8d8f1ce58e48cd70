"""Settings about models: which, where, how long, at what price, with which prompts."""

from pydantic import BaseModel, Field

from deep_research.settings.types import AbsoluteFolder, Duration, Key, Names


def _key(variable: str, owner: str) -> Key:
    """Return the field of a key, which users keep under its provider's usual variable."""
    field: Key = Field(default=None, validation_alias=variable, description=f"Key of {owner}.")
    return field


class ModelSettings(BaseModel, use_attribute_docstrings=True):
    """The part of the settings that `llm/` and the model's reasoner are built from."""

    provider: str = "auto"
    """The model's provider, or `provider:model`; `auto` takes the first whose key is set, `none` researches by rules
    alone."""
    thinking_model: str | None = None
    """Model for plans and reports, as `provider:model`; not set, the provider's own."""
    task_model: str | None = None
    """Model for everything else; not set, the provider's own, else the thinking model."""
    fallback_models: Names = ()
    """Models to go on with when the first fails for good, in order, as `provider:model`, a provider's name alone for
    its own choice, or `none`; not set, with provider `auto`, the other providers whose keys are set."""
    openai_address: str = "https://api.openai.com/v1"
    """Address of OpenAI."""
    anthropic_address: str = "https://api.anthropic.com"
    """Address of Anthropic."""
    deepseek_address: str = "https://api.deepseek.com/v1"
    """Address of DeepSeek."""
    gemini_address: str = "https://generativelanguage.googleapis.com"
    """Address of Google's Gemini."""
    qwen_address: str = "https://dashscope.aliyuncs.com/compatible-mode/v1"
    """Address of Aliyun's Qwen."""
    openrouter_address: str = "https://openrouter.ai/api/v1"
    """Address of OpenRouter."""
    ollama_address: str = "http://127.0.0.1:11434"
    """Address of Ollama."""
    openai_compatible_address: str | None = None
    """Address of any server that speaks OpenAI's protocol: vLLM, LM Studio, llama.cpp."""
    openai_api_key: Key = _key("OPENAI_API_KEY", "OpenAI")
    anthropic_api_key: Key = _key("ANTHROPIC_API_KEY", "Anthropic")
    deepseek_api_key: Key = _key("DEEPSEEK_API_KEY", "DeepSeek")
    gemini_api_key: Key = _key("GEMINI_API_KEY", "Gemini")
    qwen_api_key: Key = _key("DASHSCOPE_API_KEY", "Aliyun's Qwen")
    openrouter_api_key: Key = _key("OPENROUTER_API_KEY", "OpenRouter")
    openai_compatible_api_key: Key = None
    """Key of the OpenAI-compatible server, where it wants one."""
    judge_model: str | None = None
    """Model that compares sentences with their passages (`provider:model`); not set, the task model."""
    model_timeout_s: Duration = 180.0
    """Seconds after which a model's answer is given up."""
    model_idle_timeout_s: Duration = 60.0
    """Seconds of silence in the middle of an answer after which it is given up."""
    model_tries: int = Field(default=3, ge=1, le=10)
    """How often a call to one model is tried."""
    model_calls_in_flight: int = Field(default=16, ge=1)
    """Most calls at the same time to one provider, over all runs of a process; with PostgreSQL, of all processes."""
    model_window: int | None = Field(default=None, ge=8_000)
    """Tokens of prompt and answer together that a model can hold; not set, 120,000 for hosted models, for others what
    their server tells, or 32,000."""
    prices: AbsoluteFolder | None = None
    """File (TOML) of model prices that adds to and corrects the ones that come along."""
    prompts: AbsoluteFolder | None = None
    """Folder of prompts (`plan.md`, …) that replace the ones that come along."""
    stable_prefix: bool = True
    """Keep the beginning of prompts the same, so that providers' caches hold it."""
    todo_recitation: bool = True
    """Tell the model at each step what is done and what is left."""
    error_preservation: bool = True
    """Keep failed steps in view of the model."""
    tool_mask: bool = True
    """Tell the model at each step which tools it may use."""
