# mkSandbox: a profile, and the MCP servers that it opts in to, as a program that runs a command inside bubblewrap.
#
#   mkSandbox {
#     profile = profiles.rust;
#     mcp.tmux-debug = { audit = "/workspace/.debug-audit.log"; auditFull = "/workspace/.debug-audit/"; };
#   }
{ pkgs, registry }:
{
  profile,
  mcp ? { },
  packages ? [ ],
  env ? { },
  net ? false,
}:
let
  inherit (builtins)
    attrNames
    attrValues
    concatMap
    concatStringsSep
    hasAttr
    mapAttrs
    toJSON
    ;

  known =
    name:
    if hasAttr name registry then
      registry.${name}
    else
      throw "Unknown MCP server: ${name}. Known: ${concatStringsSep ", " (attrNames registry)}.";

  servers = mapAttrs (name: _: known name) mcp;
  mcpServers = mapAttrs (name: settings: servers.${name}.mkServerConfig settings) mcp;

  whole = profile // {
    packages = profile.packages ++ packages ++ concatMap (server: server.packages) (attrValues servers);
    env = (profile.env or { }) // env;
  };

  # What an MCP client reads: `claude --mcp-config "$MCP_CONFIG"`.
  config = pkgs.writeText "mcp.json" (toJSON { inherit mcpServers; });

  variables = {
    HOME = "/home/agent";
    LANG = "C.UTF-8";
    TERM = "screen-256color";
    TMUX_TMPDIR = "/tmp";
    MCP_CONFIG = "${config}";
    PATH = concatStringsSep ":" (map (package: "${package}/bin") whole.packages);
  } // whole.env;

  quoted = text: "'" + builtins.replaceStrings [ "'" ] [ "'\\''" ] (toString text) + "'";
  setenv = concatStringsSep " " (
    map (name: "--setenv ${quoted name} ${quoted variables.${name}}") (attrNames variables)
  );

  package = pkgs.writeShellScriptBin "sandbox-${profile.name}" ''
    # usage: sandbox-${profile.name} WORKSPACE [COMMAND…]
    workspace=$(cd "$1" && pwd -P) || exit 2
    shift
    exec ${pkgs.bubblewrap}/bin/bwrap --die-with-parent --new-session --unshare-all --cap-drop ALL \
      ${if net then "--share-net --ro-bind-try /etc/resolv.conf /etc/resolv.conf" else ""} \
      --ro-bind /nix/store /nix/store --proc /proc --dev /dev --tmpfs /tmp --tmpfs /run --dir /home/agent \
      --ro-bind-try /etc/passwd /etc/passwd --symlink ${pkgs.bashInteractive}/bin/sh /bin/sh \
      --bind "$workspace" /workspace --chdir /workspace --clearenv ${setenv} \
      -- "''${@:-${pkgs.bashInteractive}/bin/bash}"
  '';
in
{
  inherit package mcpServers config;
  profile = whole;
  shell = pkgs.mkShell { packages = [ package ]; };
}
