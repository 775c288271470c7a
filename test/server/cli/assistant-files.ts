/** Realistic files of the assistants: comments, odd spacing, different line endings. */
export const HOMES: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'claude-code': ['.claude.json', '{\n  "numStartups": 7,\n  "projects": {\n    "/x": {}\n  }\n}'],
  codex: [
    '.codex/config.toml',
    '# mine\nmodel = "o5"   # the good one\n\n[mcp_servers.other]\ncommand = "other"',
  ],
  'gemini-cli': ['.gemini/settings.json', '{"theme":"dark","mcpServers":{"a":{"command":"a"}}}\n'],
  opencode: [
    '.config/opencode/opencode.json',
    '{\r\n\t"$schema": "https://x",\r\n\t// mine\r\n\t"mcp": {},\r\n}\r\n',
  ],
  'copilot-cli': ['.copilot/mcp-config.json', '{\n    "mcpServers": {\n    }\n}\n'],
  vscode: [
    '.config/Code/User/mcp.json',
    '{\n  // mine\n  "servers": {\n    "a": { "command": "a" }, // 1st\n  },\n  "inputs": []\n}\n',
  ],
  cursor: ['.cursor/mcp.json', '{ "mcpServers": { "a": { "command": "a" } } }'],
  windsurf: ['.codeium/windsurf/mcp_config.json', '{}'],
  zed: ['.config/zed/settings.json', '// Zed\n{\n  "vim_mode": true,\n  /* none yet */\n}\n'],
  cline: [
    '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    '{\n  "mcpServers": {\n    "a": {\n      "command": "a"\n    }\n  }\n}\n',
  ],
  continue: ['.continue/mcpServers/agenthub.yaml', ''],
  goose: [
    '.config/goose/config.yaml',
    'extensions:\n    developer:\n        enabled: true # yes\nGOOSE_MODEL: x\n',
  ],
  'claude-desktop': [
    '.config/Claude/claude_desktop_config.json',
    '{\n\n  "globalShortcut": "",\n\n}\n',
  ],
  junie: ['.junie/mcp/mcp.json', ''],
}
