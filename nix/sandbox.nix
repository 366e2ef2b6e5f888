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
    SHELL = "${pkgs.bashInteractive}/bin/bash";
    TMUX_TMPDIR = "/tmp";
    MCP_CONFIG = "${config}";
    PATH = concatStringsSep ":" (map (package: "${package}/bin") whole.packages);
  } // whole.env;

  network = concatStringsSep " " (
    [ "--share-net" ]
    ++ map (path: "--ro-bind-try ${path} ${path}") [
      "/etc/resolv.conf"
      "/etc/ssl"
    ]
  );

  quoted = text: "'" + builtins.replaceStrings [ "'" ] [ "'\\''" ] (toString text) + "'";
  setenv = concatStringsSep " " (
    map (name: "--setenv ${quoted name} ${quoted variables.${name}}") (attrNames variables)
  );

  package = pkgs.writeShellScriptBin "sandbox-${profile.name}" ''
    # usage: sandbox-${profile.name} WORKSPACE [COMMAND…]
    workspace=$(CDPATH= cd -- "''${1:?a WORKSPACE is missing}" && pwd -P) || exit 2
    shift
    exec ${pkgs.bubblewrap}/bin/bwrap --die-with-parent --new-session --unshare-all --cap-drop ALL \
      ${if net then network else ""} \
      --ro-bind /nix/store /nix/store --proc /proc --dev /dev --tmpfs /tmp --tmpfs /run --tmpfs /home/agent \
      --ro-bind-try /etc/passwd /etc/passwd --ro-bind-try /etc/hosts /etc/hosts --symlink ${pkgs.bashInteractive}/bin/sh /bin/sh \
      --symlink ${pkgs.coreutils}/bin/env /usr/bin/env \
      --bind "$workspace" /workspace --remount-ro / --chdir /workspace --clearenv ${setenv} \
      -- "''${@:-${pkgs.bashInteractive}/bin/bash}"
  '';

  # The same for podman and docker: `podman load < image`, then run it with the workspace at /workspace.
  image = pkgs.dockerTools.buildLayeredImage {
    name = "sandbox-${profile.name}";
    contents = whole.packages;
    extraCommands = "mkdir -p tmp workspace home/agent && chmod 1777 tmp";
    config = {
      Cmd = [ "${pkgs.bashInteractive}/bin/bash" ];
      Env = map (name: "${name}=${toString variables.${name}}") (attrNames variables);
      WorkingDir = "/workspace";
    };
  };

  shell = pkgs.mkShell { packages = [ package ]; };
in
# A development shell by itself (`devShells.debug = mkSandbox { … };`), and all that it is made of.
shell
// {
  inherit
    package
    image
    mcpServers
    config
    shell
    ;
  profile = whole;
}
