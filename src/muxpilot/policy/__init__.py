"""The policy: decide, with a reason, whether a call is allowed before it does anything."""
