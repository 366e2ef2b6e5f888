# Base profiles. A debug variant of each is not needed: MCP servers are added to any of them.
{ pkgs }:
let
  common = [
    pkgs.bashInteractive
    pkgs.coreutils
    pkgs.findutils
    pkgs.gnugrep
    pkgs.gnused
    pkgs.git
  ];
  profile = name: more: {
    inherit name;
    packages = common ++ more;
    env = { };
  };
in
{
  base = profile "base" [ ];
  python = profile "python" [ pkgs.python3 ];
  rust = profile "rust" [
    pkgs.cargo
    pkgs.rustc
  ];
}
