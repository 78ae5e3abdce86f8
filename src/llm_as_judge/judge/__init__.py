"""Graders, the LLM judge behind them, and the audit that says whether both may be trusted."""
