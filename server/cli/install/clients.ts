import { join } from 'node:path'
import type { Editor } from './edit.ts'
import { jsonEditor } from './json.ts'
import type { Launcher } from './launcher.ts'
import { tomlEditor } from './toml.ts'
import { yamlEditor, yamlFileEditor } from './yaml.ts'

/** Platform, home folder and environment of this machine. */
export interface MachinePaths {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: NodeJS.ProcessEnv
}

export interface HubAccess {
  readonly url: string
  readonly launcher: Launcher
  /** Command that starts `hub mcp` with the key of this machine. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  /** Command that prints the Authorization header as JSON. */
  readonly helper: string
  /** File that contains only the key. */
  readonly keyFile: string
  /** True if HUB_API_KEY is set. */
  readonly hasVariable: boolean
  /** The key itself, for assistants that support nothing better; undefined if not allowed. */
  readonly inlineKey: string | undefined
}

/** An assistant that supports MCP servers, and its configuration files. */
export interface Client {
  readonly id: string
  readonly name: string
  /** Page or file of its vendor that documents the file, and the day on which it was read. */
  readonly source: readonly [url: string, read: string]
  /** Folder or file whose presence shows that the assistant is installed. */
  readonly detect: (places: MachinePaths) => string
  readonly file: (places: MachinePaths) => string
  /** Configuration file in a project; undefined if not supported. */
  readonly projectFile?: string
  readonly editor: Editor
  /** Path of keys to the entry, its own name last. */
  readonly path: readonly string[]
  readonly entry: (reach: HubAccess) => unknown
  /** True if the key must be in a file of its own. */
  readonly needsKeyFile?: boolean
}

const NAME = 'agenthub'

/** Returns the application data folder of macOS, Windows or other systems. */
function appDataFolder({ platform, home, env }: MachinePaths): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  if (platform === 'win32') return env['APPDATA'] ?? join(home, 'AppData', 'Roaming')
  return env['XDG_CONFIG_HOME'] || join(home, '.config')
}
const dotConfig = ({ home, env }: MachinePaths): string =>
  env['XDG_CONFIG_HOME'] || join(home, '.config')
const goose = (places: MachinePaths): string =>
  places.platform === 'win32'
    ? join(appDataFolder(places), 'Block', 'goose', 'config')
    : join(dotConfig(places), 'goose')
const codex = ({ home, env }: MachinePaths): string => env['CODEX_HOME'] || join(home, '.codex')

/** Uses the environment variable if set, otherwise the bridge, so that no file contains the key. */
const variableOrBridge =
  (reference: string, more: object) =>
  ({ url, bridge, hasVariable, inlineKey }: HubAccess): unknown => {
    if (inlineKey) return { ...more, url, headers: bearer(inlineKey) }
    return hasVariable ? { ...more, url, headers: bearer(reference) } : bridge
  }
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })
const bridgeCommand = ({ bridge }: HubAccess): unknown => bridge

/** Known assistants, each given the secret in the best way that its vendor documents. */
export const CLIENTS: readonly Client[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    source: ['https://code.claude.com/docs/en/mcp', '2026-11-21'],
    detect: ({ home }) => join(home, '.claude.json'),
    file: ({ home }) => join(home, '.claude.json'),
    projectFile: '.mcp.json',
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: ({ url, helper }) => ({ type: 'http', url, headersHelper: helper }),
  },
  {
    id: 'codex',
    name: 'Codex',
    source: ['https://github.com/openai/codex codex-rs/config/src/mcp_types.rs', '2026-11-21'],
    detect: codex,
    file: (places) => join(codex(places), 'config.toml'),
    editor: tomlEditor,
    path: ['mcp_servers', NAME],
    entry: ({ url, helper }) => ({ url, http_headers_helper: helper }),
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    source: ['https://github.com/google-gemini/gemini-cli docs/tools/mcp-server.md', '2026-11-21'],
    detect: ({ home }) => join(home, '.gemini'),
    file: ({ home }) => join(home, '.gemini', 'settings.json'),
    projectFile: '.gemini/settings.json',
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: variableOrBridge('$HUB_API_KEY', { type: 'http' }),
  },
  {
    id: 'opencode',
    name: 'opencode',
    source: ['https://opencode.ai/docs/mcp-servers', '2026-11-21'],
    detect: (places) => join(dotConfig(places), 'opencode'),
    file: (places) => join(dotConfig(places), 'opencode', 'opencode.json'),
    projectFile: 'opencode.json',
    editor: jsonEditor,
    path: ['mcp', NAME],
    needsKeyFile: true,
    entry: ({ url, keyFile }) => ({
      type: 'remote',
      url,
      enabled: true,
      oauth: false,
      headers: bearer(`{file:${keyFile}}`),
    }),
  },
  {
    id: 'copilot-cli',
    name: 'GitHub Copilot CLI',
    source: ['https://github.com/github/github-mcp-server docs/installation-guides', '2026-11-23'],
    detect: ({ home }) => join(home, '.copilot'),
    file: ({ home }) => join(home, '.copilot', 'mcp-config.json'),
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: (reach) => {
      const remote = variableOrBridge(`\${HUB_API_KEY}`, { type: 'http' })(reach)
      return remote === reach.bridge
        ? { type: 'local', ...reach.bridge, tools: ['*'] }
        : { ...(remote as object), tools: ['*'] }
    },
  },
  {
    id: 'vscode',
    name: 'VS Code',
    source: ['https://github.com/microsoft/vscode-docs mcp-configuration.md', '2026-11-21'],
    detect: (places) => join(appDataFolder(places), 'Code', 'User'),
    file: (places) => join(appDataFolder(places), 'Code', 'User', 'mcp.json'),
    projectFile: '.vscode/mcp.json',
    editor: jsonEditor,
    path: ['servers', NAME],
    entry: ({ bridge }) => ({ type: 'stdio', ...bridge }),
  },
  {
    id: 'cursor',
    name: 'Cursor',
    source: ['https://cursor.com/docs/mcp/install-links', '2026-11-21'],
    detect: ({ home }) => join(home, '.cursor'),
    file: ({ home }) => join(home, '.cursor', 'mcp.json'),
    projectFile: '.cursor/mcp.json',
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: bridgeCommand,
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    source: ['https://docs.windsurf.com/windsurf/cascade/mcp', '2026-11-23'],
    detect: ({ home }) => join(home, '.codeium', 'windsurf'),
    file: ({ home }) => join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: bridgeCommand,
  },
  {
    id: 'zed',
    name: 'Zed',
    source: ['https://zed.dev/docs/ai/mcp', '2026-11-23'],
    detect: (places) => zed(places),
    file: (places) => join(zed(places), 'settings.json'),
    editor: jsonEditor,
    path: ['context_servers', NAME],
    entry: bridgeCommand,
  },
  {
    id: 'cline',
    name: 'Cline',
    source: ['https://docs.cline.bot/mcp/configuring-mcp-servers', '2026-11-23'],
    detect: (places) => cline(places),
    file: (places) => join(cline(places), 'settings', 'cline_mcp_settings.json'),
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: ({ bridge }) => ({ ...bridge, disabled: false }),
  },
  {
    id: 'continue',
    name: 'Continue',
    source: ['https://docs.continue.dev/customize/deep-dives/mcp', '2026-11-23'],
    detect: ({ home }) => join(home, '.continue'),
    // A config.yaml would replace the config.json of the user, with their models.
    file: ({ home }) => join(home, '.continue', 'mcpServers', `${NAME}.yaml`),
    editor: yamlFileEditor,
    path: ['mcpServers', NAME],
    entry: ({ bridge }) => ({ name: NAME, ...bridge }),
  },
  {
    id: 'goose',
    name: 'Goose',
    source: ['https://github.com/block/goose crates/goose/src/agents/extension.rs', '2026-11-23'],
    detect: goose,
    file: (places) => join(goose(places), 'config.yaml'),
    editor: yamlEditor,
    path: ['extensions', NAME],
    entry: ({ bridge }) => ({
      name: NAME,
      type: 'stdio',
      enabled: true,
      cmd: bridge.command,
      args: bridge.args,
      timeout: 300,
    }),
  },
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    source: ['https://support.claude.com/en/articles/11503834', '2026-11-21'],
    detect: (places) => join(appDataFolder(places), 'Claude'),
    file: (places) => join(appDataFolder(places), 'Claude', 'claude_desktop_config.json'),
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: bridgeCommand,
  },
  {
    id: 'junie',
    name: 'JetBrains Junie',
    source: ['https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html', '2026-11-21'],
    detect: ({ home }) => join(home, '.junie'),
    file: ({ home }) => join(home, '.junie', 'mcp', 'mcp.json'),
    projectFile: '.junie/mcp/mcp.json',
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: bridgeCommand,
  },
]

const zed = (places: MachinePaths): string =>
  places.platform === 'win32' ? join(appDataFolder(places), 'Zed') : join(dotConfig(places), 'zed')

const cline = (places: MachinePaths): string =>
  join(appDataFolder(places), 'Code', 'User', 'globalStorage', 'saoudrizwan.claude-dev')
