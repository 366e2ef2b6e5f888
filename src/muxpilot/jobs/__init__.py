"""Jobs: background watches and recordings, which another muxpilot continues when theirs has gone."""
