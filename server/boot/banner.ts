/** Returns the text that is printed when the hub is ready. */
export function banner(facts: {
  readonly url: string
  /** Origin of the MCP endpoint. */
  readonly mcpUrl: string
  readonly dataDir: string
  /** Set in the sandbox. */
  readonly sandbox?: {
    readonly apiKey: string
    readonly sellerUrl: string
    readonly rpcUrl: string
    readonly pageUrl: string
  }
}): string {
  const { url, dataDir, sandbox } = facts
  const lines = [
    '',
    `AgentHub is ready at ${url} (open it in a browser)`,
    `  REST      ${url}/v1/services`,
    `  Proxy     ${url}/proxy/{slug}/{path}`,
    `  MCP       ${facts.mcpUrl}/mcp`,
    `  OpenAPI   ${url}/openapi.json`,
  ]
  if (!sandbox) return [...lines, ''].join('\n')
  const call = (path: string, body: string) => [
    `  curl -s ${url}${path} \\`,
    `    -H 'Authorization: Bearer ${sandbox.apiKey}' \\`,
    `    -H 'Content-Type: application/json' -d '${body}'`,
  ]
  return [
    ...lines,
    `  Chain     ${sandbox.rpcUrl} (local, test USDC)`,
    `  Data      ${dataDir}`,
    `  API key   ${sandbox.apiKey}`,
    '',
    'This is a SANDBOX: database, chain and money are local. Nothing here is worth anything, and',
    'its keys must never receive real money.',
    '',
    `People sign in at ${url}/sign-in; without a mail server the link is printed here.`,
    `The API key is an administrator's and can grant roles: ${url}/docs/finance`,
    '',
    'A first call (free, 15 a month):',
    ...call(
      '/proxy/analysis/sentiment',
      '{"text":"The delivery was late, but the staff was lovely."}',
    ),
    '',
    'A paid one (0.0001 USD of your 5 test dollars; see the headers with -i):',
    ...call('/proxy/echo/say', '{"words":"hello"}'),
    '',
    'A third-party API, paid by x402 from your credits (0.01 USD):',
    ...call('/proxy/external', `{"url":"${sandbox.sellerUrl}/weather?city=Oslo"}`),
    '',
    'A page that its owner sells, as clean text and Markdown (0.005 USD, 0.002 if cached):',
    `  curl -s '${url}/proxy/magazine/fetch?url=${sandbox.pageUrl}' \\`,
    `    -H 'Authorization: Bearer ${sandbox.apiKey}'`,
    '',
  ].join('\n')
}
