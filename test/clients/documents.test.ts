import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { AUDIENCES } from '../../server/rest/openapi/audiences.ts'
import { useHub } from '../support/suite.ts'
import { installed, MANIFEST, withClient } from './installed.ts'
import { runCommand } from './run-client.ts'

// Nothing runs and no hub is started where no client is installed.
const describeClients = installed === undefined ? describe.skip : describe

describeClients('linters of OpenAPI', function () {
  this.timeout(1_200_000)
  const hub = useHub()
  const home = mkdtempSync(join(tmpdir(), 'agenthub-documents-'))
  after(() => rmSync(home, { recursive: true, force: true }))

  const fetchText = async (path: string): Promise<string> => {
    const response = await fetch(`${hub().url}${path}`)
    expect(response.status, path).to.equal(200)
    return response.text()
  }
  /** Files of all documents: those of the platform and one for each service. */
  let files: string[]
  before(async () => {
    const { data } = JSON.parse(await fetchText('/v1/services?limit=100'))
    const slugs = (data as readonly { slug: string }[]).map(({ slug }) => slug)
    expect(slugs).to.include.members(['echo', 'analysis'])
    const paths = [
      ...Object.values(AUDIENCES).map(({ path }) => path),
      ...slugs.map((slug) => `/v1/services/${slug}/openapi.json`),
    ]
    files = await Promise.all(
      paths.map(async (path) => {
        const file = join(home, path.slice(1).replaceAll('/', '-'))
        writeFileSync(file, await fetchText(path))
        return file
      }),
    )
  })

  withClient('@redocly/cli', 'redocly finds no error and no warning in any document', async () => {
    const env = { HOME: home, REDOCLY_TELEMETRY: 'off' }
    // With several files, it prints a report for each, and no valid JSON.
    for (const file of files) {
      const report = JSON.parse(
        await runCommand('redocly', ['lint', file, '--format', 'json'], { env }),
      )
      expect(report.problems, file).to.deep.equal([])
    }
  })

  withClient('@stoplight/spectral-cli', 'spectral finds nothing in any document', async () => {
    const rules = join(MANIFEST, 'spectral.yaml')
    const args = ['lint', ...files, '--ruleset', rules, '--format', 'json', '--quiet']
    const found = await runCommand('spectral', [...args, '--fail-severity', 'hint'])
    expect(JSON.parse(found)).to.deep.equal([])
  })
})
