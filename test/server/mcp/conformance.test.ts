import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { useHub } from '../../support/suite.ts'
import { FIXTURES } from './fixtures.ts'
import { serveTools, serveWithKey } from './servers.ts'

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json'))
const baseline = (version: string): string =>
  fileURLToPath(new URL(`conformance/baseline-${version}.yml`, import.meta.url))

/** Runs the official suite, which exits with 0 only if the failures match the baseline exactly. */
async function runSuite(url: string, version: string): Promise<{ code: number; text: string }> {
  const cwd = mkdtempSync(join(tmpdir(), 'agenthub-conformance-'))
  try {
    const args = ['--url', `${url}/mcp`, '--requirements', version]
    const program = join(SUITE, '../dist/index.js')
    const expected = ['--expected-failures', baseline(version)]
    const child = execFile(process.execPath, [program, 'server', ...args, ...expected], {
      cwd,
      timeout: 60_000,
      maxBuffer: 1e8,
    })
    let text = ''
    child.stdout!.on('data', (chunk: string) => (text += chunk))
    child.stderr!.on('data', (chunk: string) => (text += chunk))
    const [code] = (await once(child, 'close')) as [number]
    return { code, text: text.slice(-6_000) }
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

describe('the official conformance suite of MCP', () => {
  const hub = useHub()
  for (const version of ['2026-07-28', '2025-11-25']) {
    it(`passes for ${version}, except for requirements that do not apply`, async () => {
      const { apiKey } = await hub().agent()
      const server = await serveTools(hub(), FIXTURES)
      const authenticated = await serveWithKey(server.url, apiKey)
      try {
        const { code, text } = await runSuite(authenticated.url, version)
        expect(code, text).to.equal(0)
      } finally {
        await authenticated.close()
        await server.close()
      }
    })
  }
})
