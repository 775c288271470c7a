import { join } from 'node:path'
import type { Editor } from './edit.ts'
import { jsonEditor } from './json.ts'
import { tomlEditor } from './toml.ts'
import { yamlEditor } from './yaml.ts'

/** Where things are on this machine. */
export interface Places {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: NodeJS.ProcessEnv
}

/** How the hub is reached. */
export interface Reach {
  readonly url: string
  /** Starts `hub mcp`, with the key of this machine. */
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  /** Prints the authorizing header as JSON. */
  readonly helper: string
  /** A file that holds the key alone. */
  readonly keyFile: string
  /** Whether HUB_API_KEY is in the environment. */
  readonly hasVariable: boolean
  /** The key itself, to write where nothing better is possible; undefined: never. */
  readonly inlineKey: string | undefined
}

/** An assistant that takes MCP servers, and where it keeps them. */
export interface Client {
  readonly id: string
  readonly name: string
  /** Its own folder or file: there is one where the assistant is. */
  readonly detect: (places: Places) => string
  readonly file: (places: Places) => string
  /** In a project; undefined: it has none there. */
  readonly projectFile?: string
  readonly editor: Editor
  /** The keys under which our entry stands, its own name last. */
  readonly path: readonly string[]
  readonly entry: (reach: Reach) => unknown
  /** Whether the key has to lie in a file of its own. */
  readonly needsKeyFile?: boolean
}

const NAME = 'agenthub'

/** Folders of applications: of macOS, Windows and everything else. */
function appData({ platform, home, env }: Places): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  if (platform === 'win32') return env['APPDATA'] ?? join(home, 'AppData', 'Roaming')
  return env['XDG_CONFIG_HOME'] || join(home, '.config')
}
const dotConfig = ({ home, env }: Places): string => env['XDG_CONFIG_HOME'] || join(home, '.config')
const goose = (places: Places): string =>
  places.platform === 'win32'
    ? join(appData(places), 'Block', 'goose', 'config')
    : join(dotConfig(places), 'goose')
const codex = ({ home, env }: Places): string => env['CODEX_HOME'] || join(home, '.codex')

/** By an environment variable where there is one, else by the bridge: no file of theirs has it. */
const byVariable =
  (reference: string, more: object) =>
  ({ url, bridge, hasVariable, inlineKey }: Reach): unknown => {
    if (inlineKey) return { ...more, url, headers: bearer(inlineKey) }
    return hasVariable ? { ...more, url, headers: bearer(reference) } : bridge
  }
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })
const byBridge = ({ bridge }: Reach): unknown => bridge

/**
 * The secret goes in the best way that each can: a helper that prints it, a file, a question, a
 * variable, or the bridge, which needs none. Source of the forms: the documents of each.
 */
export const CLIENTS: readonly Client[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
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
    detect: codex,
    file: (places) => join(codex(places), 'config.toml'),
    editor: tomlEditor,
    path: ['mcp_servers', NAME],
    entry: ({ url, helper }) => ({ url, http_headers_helper: helper }),
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    detect: ({ home }) => join(home, '.gemini'),
    file: ({ home }) => join(home, '.gemini', 'settings.json'),
    projectFile: '.gemini/settings.json',
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: byVariable('$HUB_API_KEY', { type: 'http' }),
  },
  {
    id: 'opencode',
    name: 'opencode',
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
    detect: ({ home }) => join(home, '.copilot'),
    file: ({ home }) => join(home, '.copilot', 'mcp-config.json'),
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: (reach) => {
      const remote = byVariable(`\${HUB_API_KEY}`, { type: 'http' })(reach)
      return remote === reach.bridge
        ? { type: 'local', ...reach.bridge, tools: ['*'] }
        : { ...(remote as object), tools: ['*'] }
    },
  },
  {
    id: 'vscode',
    name: 'VS Code',
    detect: (places) => join(appData(places), 'Code', 'User'),
    file: (places) => join(appData(places), 'Code', 'User', 'mcp.json'),
    projectFile: '.vscode/mcp.json',
    editor: jsonEditor,
    path: ['servers', NAME],
    entry: ({ bridge }) => ({ type: 'stdio', ...bridge }),
  },
  {
    id: 'cursor',
    name: 'Cursor',
    detect: ({ home }) => join(home, '.cursor'),
    file: ({ home }) => join(home, '.cursor', 'mcp.json'),
    projectFile: '.cursor/mcp.json',
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: byBridge,
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    detect: ({ home }) => join(home, '.codeium', 'windsurf'),
    file: ({ home }) => join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: byBridge,
  },
  {
    id: 'zed',
    name: 'Zed',
    detect: (places) => zed(places),
    file: (places) => join(zed(places), 'settings.json'),
    editor: jsonEditor,
    path: ['context_servers', NAME],
    entry: byBridge,
  },
  {
    id: 'cline',
    name: 'Cline',
    detect: (places) => cline(places),
    file: (places) => join(cline(places), 'settings', 'cline_mcp_settings.json'),
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: ({ bridge }) => ({ ...bridge, disabled: false }),
  },
  {
    id: 'continue',
    name: 'Continue',
    detect: ({ home }) => join(home, '.continue'),
    file: ({ home }) => join(home, '.continue', 'config.yaml'),
    editor: yamlEditor('list'),
    path: ['mcpServers', NAME],
    entry: ({ bridge }) => ({ name: NAME, ...bridge }),
  },
  {
    id: 'goose',
    name: 'Goose',
    detect: goose,
    file: (places) => join(goose(places), 'config.yaml'),
    editor: yamlEditor('map'),
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
    detect: (places) => join(appData(places), 'Claude'),
    file: (places) => join(appData(places), 'Claude', 'claude_desktop_config.json'),
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: byBridge,
  },
  {
    id: 'junie',
    name: 'JetBrains Junie',
    detect: ({ home }) => join(home, '.junie'),
    file: ({ home }) => join(home, '.junie', 'mcp', 'mcp.json'),
    projectFile: '.junie/mcp/mcp.json',
    editor: jsonEditor,
    path: ['mcpServers', NAME],
    entry: byBridge,
  },
]

const zed = (places: Places): string =>
  places.platform === 'win32' ? join(appData(places), 'Zed') : join(dotConfig(places), 'zed')

const cline = (places: Places): string =>
  join(appData(places), 'Code', 'User', 'globalStorage', 'saoudrizwan.claude-dev')
