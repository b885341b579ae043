"""Pure helpers that any app may use. No models here, and nothing that knows an app."""
