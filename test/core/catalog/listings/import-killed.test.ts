import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { listSources } from '../../../../core/catalog/listings/discovery/sources.ts'
import { json, useCatalog } from '../fixture.ts'
import { row } from '../rows.ts'

const ROWS = 3_000
const PAGE = 100
const KILLS = 2

describe('an import that is killed', () => {
  const fixture = useCatalog()

  /** Every tenth row is invalid. */
  const rows = Array.from({ length: ROWS }, (_, n) =>
    n % 10 === 0
      ? row({ resource: `http://localhost/${n}` })
      : row({ resource: `https://api.acme.com/${n}` }),
  )
  const start = (): ChildProcess => {
    const file = new URL('./import-child.ts', import.meta.url).pathname
    const port = String(fixture.sandboxHosts.get('index.test'))
    return spawn(process.execPath, [file, fixture.database.url, port], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  }

  /** Serves pages and reports each requested offset. */
  const serve = (onPage: (offset: number) => void): void =>
    fixture.at('index.test', ({ url }, response) => {
      const offset = Number(new URL(url ?? '', 'http://x').searchParams.get('offset'))
      const items = rows.slice(offset, offset + PAGE)
      onPage(offset)
      json(response, { items, pagination: { limit: PAGE, offset, total: ROWS } })
    })

  it('leaves whole pages and continues where it stopped, without loss', async () => {
    const begun: number[] = []
    for (let kill = 0; kill < KILLS; kill++) {
      const requestArrived = Promise.withResolvers<void>()
      const offsets: number[] = []
      serve((offset) => {
        offsets.push(offset)
        if (offsets.length === 4) requestArrived.resolve()
      })
      const child = start()
      await requestArrived.promise
      child.kill('SIGKILL')
      await once(child, 'exit')
      begun.push(offsets[0]!)
      const [source] = await listSources(fixture.pool)
      const { rows: kept } = await fixture.pool.query(
        `SELECT count(*)::integer AS rows, count(reason)::integer AS refused,
           (SELECT count(*)::integer FROM hub.listing) AS listed FROM hub.listing_source`,
      )
      const done = Number(source?.place['offset'])
      const refused = done / 10
      expect(kept).to.deep.equal([{ rows: done, refused, listed: done - refused }])
      expect(source).to.include({ rows: done, refused })
    }
    expect(begun, 'each begins past the one before').to.deep.equal(
      [...new Set(begun)].sort((a, b) => a - b),
    )
    expect(begun.at(-1)).to.be.greaterThan(0)
    serve(() => undefined)
    const last = start()
    const [output] = (await once(last.stdout!, 'data')) as [Buffer]
    await once(last, 'exit')
    expect(JSON.parse(output.toString())).to.equal('whole')
    const { rows: end } = await fixture.pool.query(
      `SELECT count(*)::integer AS rows, count(DISTINCT key)::integer AS keys,
         bool_or(gone) AS gone,
         (SELECT count(*)::integer FROM hub.listing) AS listed FROM hub.listing_source`,
    )
    expect(end).to.deep.equal([{ rows: ROWS, keys: ROWS, gone: false, listed: ROWS * 0.9 }])
  })
})
