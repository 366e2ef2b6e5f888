# A package set of names alone: enough to evaluate with, nothing to build.
let
  package = name: "/nix/store/stub-${name}";
  named =
    names:
    builtins.listToAttrs (
      map (name: {
        inherit name;
        value = package name;
      }) names
    );

  lib = {
    cleanSource = path: path;
    genAttrs = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
    licenses = named [ "mit" "ofl" ];
    makeBinPath = packages: builtins.concatStringsSep ":" (map (package: "${package}/bin") packages);
    platforms.unix = [ ];
  };

  pkgs =
    named [
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
    ]
    // {
      inherit lib;
      callPackage =
        path: args:
        let
          make = import path;
        in
        make (builtins.intersectAttrs (builtins.functionArgs make) pkgs // args);
      python3Packages =
        named [ "google-re2" "hatchling" "httptools" "rapidfuzz" "tree-sitter" "uvicorn" ]
        // {
          tree-sitter-grammars = named [ "tree-sitter-bash" ];
          buildPythonApplication = args: args // { outPath = package args.pname; };
        };
      writeText = name: text: "/nix/store/stub-${builtins.hashString "md5" text}-${name}";
      writeShellScriptBin = name: text: { inherit name text; };
      dockerTools.buildLayeredImage = args: args;
      mkShell = args: args // { type = "derivation"; };
    };
in
pkgs
