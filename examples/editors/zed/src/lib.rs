//! Starts `sessionref --stdio` from the PATH; extension.toml says how to install and set it.

use zed_extension_api::{self as zed, LanguageServerId, Result};

struct Sessionref;

impl zed::Extension for Sessionref {
    fn new() -> Self {
        Sessionref
    }

    fn language_server_command(
        &mut self,
        _: &LanguageServerId,
        worktree: &zed::Worktree,
    ) -> Result<zed::Command> {
        let command = worktree
            .which("sessionref")
            .ok_or("sessionref is not on the PATH; pipx install sessionref")?;
        let args = vec!["--stdio".into()];
        Ok(zed::Command { command, args, env: worktree.shell_env() })
    }
}

zed::register_extension!(Sessionref);
