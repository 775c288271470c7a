import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import nock from 'nock'
import { bundledProgram, systemProgram } from '../../core/browser/program.ts'
import { type BrowserOptions, Renderer } from '../../core/browser/renderer.ts'
import { BROWSER_HOME } from './chromium.ts'
import { openSite, type Site } from './site/index.ts'

const MIB = 1_048_576

/** Test site with a renderer that may access it. */
export interface RendererFixture {
  readonly site: Site
  readonly renderer: Renderer
  readonly logged: string[]
  readonly close: () => Promise<void>
}

export async function openRenderer(
  options: Partial<BrowserOptions> = {},
): Promise<RendererFixture> {
  const site = await openSite()
  const logged: string[] = []
  const renderer = new Renderer({
    browsers: 1,
    path: undefined,
    sandbox: true,
    home: BROWSER_HOME,
    userAgent: 'AgentHub/test',
    sandboxHosts: site.hosts,
    allowedPorts: [site.canary.port],
    resolver: async () => [{ address: '127.0.0.1', family: 4 }],
    log: (message, fields) => logged.push(`${message} ${JSON.stringify(fields)}`),
    limits: {
      caps: { page: 150 * MIB, browser: 3_000 * MIB },
      traffic: { maxBytes: 16 * MIB, maxRequests: 500 },
    },
    ...options,
  })
  return {
    site,
    renderer,
    logged,
    async close() {
      await renderer.close()
      await site.close()
    },
  }
}

/** Options for a browser that trusts a certificate by its public key hash (SHA-256, base64). */
export async function trusting(key: string): Promise<Partial<BrowserOptions>> {
  const { path, env } = (await bundledProgram(BROWSER_HOME)) ?? (await systemProgram())
  const script = join(BROWSER_HOME, 'trusting')
  const set = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`)
  const flag = `--ignore-certificate-errors-spki-list=${key}`
  await writeFile(script, `#!/bin/sh\n${set.join('')}exec '${path}' '${flag}' "$@"\n`)
  await chmod(script, 0o755)
  return { path: script }
}

/** Provides one browser and one site for all tests of a `describe`, over real sockets. */
export function useRenderer(
  options: () => Promise<Partial<BrowserOptions>> = async () => ({}),
): () => RendererFixture {
  let reading: RendererFixture | undefined
  before(async () => {
    nock.restore()
    reading = await openRenderer(await options())
    await reading.renderer.render({ url: 'http://owner.test/plain', deadlineMs: 60_000 })
  })
  after(async () => {
    await reading?.close()
    nock.activate()
  })
  return () => reading!
}
