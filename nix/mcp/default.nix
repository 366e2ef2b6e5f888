# The MCP servers that a sandbox may ask for, by name.
{ pkgs, muxpilot }:
{
  tmux-debug = import ./tmux-debug.nix { inherit pkgs muxpilot; };
}
