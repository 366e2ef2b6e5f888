# muxpilot's five pane tools. `audit` is a file and `auditFull` a folder, both as they are called in the sandbox.
{ pkgs, muxpilot }:
{
  name = "tmux-debug";

  packages = [
    muxpilot
    pkgs.tmux
  ];

  mkServerConfig =
    {
      audit ? null,
      auditFull ? null,
    }:
    {
      command = "muxpilot";
      args = [
        "--scope"
        "debug"
      ];
      env =
        (if audit == null then { } else { TMUX_DEBUG_AUDIT = audit; })
        // (if auditFull == null then { } else { TMUX_DEBUG_AUDIT_FULL = auditFull; });
    };
}
