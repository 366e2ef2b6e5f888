# Everything for one package set: `import ./nix { inherit pkgs; }`, with or without a flake.
{
  pkgs,
  muxpilot ? pkgs.callPackage ./package.nix { },
}:
let
  registry = import ./mcp { inherit pkgs muxpilot; };
in
{
  inherit registry;
  profiles = import ./profiles.nix { inherit pkgs; };
  mkSandbox = import ./sandbox.nix { inherit pkgs registry; };
}
