import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { serviceSnippets } from '../../../server/web/snippets.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

const ROOT = join(import.meta.dirname, '../../..')
const run = promisify(execFile)
const WAYS = ['curl', 'TypeScript', 'Python', 'CLI', 'MCP']
const ENTRY_POINTS = {
  baseUrl: 'https://hub.example',
  proxyUrl: 'https://hub.example/proxy',
  mcpUrl: 'https://mcp.example/mcp',
  command: 'hub',
}

/** First snippets of a page, or of a part of it, by name. */
function textsOf(page: string, part = ''): Readonly<Record<string, string>> {
  const pattern = /data-name="([^"]+)">\n<pre[^>]*><code>([^<]*)<\/code>/g
  const decoded = (text: string) =>
    text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
  return Object.fromEntries(
    [...page.slice(page.indexOf(part)).matchAll(pattern)]
      .reverse()
      .map(([, name = '', text = '']) => [name, decoded(text)]),
  )
}

describe('snippets on pages', () => {
  const hub = useHub()
  let env: NodeJS.ProcessEnv

  before(async () => {
    const { apiKey, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    env = { ...process.env, HUB_API_KEY: apiKey, HUB_CONFIG_DIR: hub().dataDir }
  })

  /** Runs a snippet in a folder with the package installed. */
  async function paste(text: string): Promise<string> {
    const here = text.replace(/^npx \S+\.tgz/, `"${process.execPath}" server/cli/hub.mjs`)
    const program = ['--input-type=module-typescript', '-e', text]
    const { stdout } = text.startsWith('import os')
      ? await run('python3', ['-c', text], { env })
      : text.startsWith('import')
        ? await run(process.execPath, program, { env, cwd: ROOT })
        : await run('/bin/sh', ['-c', here], { env, cwd: ROOT })
    return stdout
  }

  const PAGES = {
    'a service that takes a body': ['/services/echo#post-say', /Hello, world/],
    'a service that takes a query': ['/services/magazine#get-fetch', /word_count/],
    'an external API': ['listing of /shout', /shouted/],
  } as const
  for (const [what, [page, answer]] of Object.entries(PAGES)) {
    it(`call ${what} in each of five ways`, async function () {
      const programs = ['curl', 'python3'].map((program) => run(program, ['--version']))
      const isMissing = await Promise.all(programs).then(
        () => false,
        () => true,
      )
      if (isMissing) this.skip()
      const { rows } = await hub().database.admin.query<{ id: string }>(
        `SELECT id FROM hub.listing WHERE url LIKE '%/shout'`,
      )
      const path = page.startsWith('/') ? page : `/listings/${rows[0]?.id}`
      const { text } = await ask(hub().url, path, { headers: { accept: 'text/html' } })
      const [, part] = page.split('#')
      const texts = textsOf(text, part && `id="${part}"`)
      expect(texts).to.include.keys(WAYS)
      await Promise.all(
        WAYS.map(async (way) => {
          const pasted = texts[way]!
          expect(await paste(pasted), pasted).to.match(answer)
        }),
      )
    })
  }

  it('fill in path parameters and quote for the shell', () => {
    const sample = {
      slug: 'tides',
      method: 'GET',
      path: '/tides/{harbor}/{day}',
      input: { harbor: 'Sète/2', day: '2026-11-21', note: `it's "high" & $HOME` },
    }
    const { curl = '', TypeScript = '' } = textsOf(serviceSnippets(sample, ENTRY_POINTS).text)
    expect(curl)
      .to.include("'https://hub.example/proxy/tides/tides/S%C3%A8te%2F2/2026-11-21?note=it%27s+")
      .and.not.to.match(/[{}]/)
    expect(TypeScript).to.include(`'/tides/S%C3%A8te%2F2/2026-11-21', {"note":`)
    const posted = textsOf(serviceSnippets({ ...sample, method: 'POST' }, ENTRY_POINTS).text)
    expect(posted['curl']).to.include(String.raw`it'\''s \"high\" & $HOME`)
  })
})
