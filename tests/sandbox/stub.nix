# A package set of names alone: enough to evaluate with, nothing to build.
let
  package = name: "/nix/store/stub-${name}";
  names = [
    "bashInteractive"
    "bubblewrap"
    "cargo"
    "coreutils"
    "findutils"
    "git"
    "gnugrep"
    "gnused"
    "python3"
    "rustc"
    "tmux"
  ];
in
builtins.listToAttrs (
  map (name: {
    inherit name;
    value = package name;
  }) names
)
// {
  callPackage = path: args: package "muxpilot";
  writeText = name: text: "/nix/store/stub-${builtins.hashString "md5" text}-${name}";
  writeShellScriptBin = name: text: { inherit name text; };
  mkShell = args: args;
}
