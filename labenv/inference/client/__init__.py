"""The client's side: one server, or several behind or without a router."""

from labenv.inference.client.client import InferenceClient
from labenv.inference.client.openai_compatible import ChatClient
from labenv.inference.client.workers import WorkerPool

__all__ = ["ChatClient", "InferenceClient", "WorkerPool"]
