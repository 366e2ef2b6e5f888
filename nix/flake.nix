{
  description = "muxpilot: the tmux server for AI agents, and sandboxes that carry it";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: rec {
        muxpilot = pkgs.callPackage ./package.nix { };
        default = muxpilot;
      });

      # lib.<system>: mkSandbox, profiles and the registry of MCP servers.
      lib = each (pkgs: import ./default.nix { inherit pkgs; });

      devShells = each (
        pkgs:
        let
          muxpilot = import ./default.nix { inherit pkgs; };
        in
        {
          debug = muxpilot.mkSandbox {
            profile = muxpilot.profiles.base;
            mcp.tmux-debug.audit = "/workspace/.debug-audit.log";
          };
        }
      );
    };
}
