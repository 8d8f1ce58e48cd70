"""What every shell that serves others is built on: who asks, what may be asked, runs that go on, events for many.

Knows neither HTTP nor MCP.
"""
