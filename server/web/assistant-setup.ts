import { codeTabs } from './code-tabs.ts'
import { collapsible } from './form.ts'
import { type Html, html } from './html.ts'
import type { EntryPoints } from './snippets.ts'

/** Ways to add the hub, and so this service, to an AI assistant over MCP. */
export function assistantSetup(slug: string, { mcpUrl, command }: EntryPoints): Html {
  const server = { type: 'http', url: mcpUrl, headers: { Authorization: 'Bearer $HUB_API_KEY' } }
  return collapsible(
    'Add to my assistant',
    html`<p>Adds this hub as an MCP server. Then ask your assistant to use
<code>${slug}</code>.</p>${codeTabs('assistant', `to add ${slug} to an assistant`, {
      CLI: `${command} install`,
      'Claude Code': `claude mcp add --transport http agenthub ${mcpUrl} \\
  --header "Authorization: Bearer $HUB_API_KEY"`,
      Configuration: JSON.stringify({ mcpServers: { agenthub: server } }, null, 2),
    })}`,
  )
}
