import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { IngestFailure } from '../../../../plugins/tenders/ingest/failure.ts'
import { membersOf } from '../../../../plugins/tenders/ingest/package.ts'
import { SETTINGS } from '../../../../plugins/tenders/ingest/settings.ts'
import { packageOf, tarOf } from '../../../support/ted-server.ts'
import { issueOf } from './support.ts'

const DAY = '2026-03-02'
const ISSUE = issueOf(DAY, '41/2026', 3)

/** Reads a package; returns its documents and how it ended. */
async function read(bytes: Buffer, limits = SETTINGS.limits, only?: string) {
  const numbers: string[] = []
  const wants = (number: string) => only === undefined || number === only
  try {
    const size = Math.max(700, Math.ceil(bytes.length / 50))
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    const source = Readable.from(pieces, { objectMode: false })
    for await (const { number, xml } of membersOf(source, { day: DAY, wants, limits })) {
      expect(xml.toString()).match(/^<\?xml/)
      numbers.push(number)
    }
    return { numbers, problem: null }
  } catch (error) {
    if (!(error instanceof IngestFailure)) throw error
    return { numbers, problem: error.message }
  }
}

describe('a daily package', () => {
  it('is read to its end, and only requested notices are stored', async () => {
    const bytes = await packageOf(ISSUE)
    expect(await read(bytes)).deep.equal({
      numbers: ['1-2026', '2-2026', '3-2026', '4-2026'],
      problem: null,
    })
    const one = await read(bytes, SETTINGS.limits, '2-2026')
    expect(one.numbers).deep.equal(['2-2026'])
  })

  it('returns what arrived before truncation and reports the truncation', async () => {
    const noise = (n: number) => createHash('shake256', { outputLength: 50_000 }).update(`${n}`)
    const tar = await tarOf(
      Array.from({ length: 40 }, (_, n) => ({
        name: `20260302_041/000000${10 + n}_2026.xml`,
        body: `<?xml version="1.0"?>${noise(n).digest('hex')}`,
      })),
    )
    const whole = await read(gzipSync(tar))
    expect(whole).deep.include({ problem: null }).nested.property('numbers').lengthOf(40)
    const bytes = gzipSync(tar)
    for (const cut of [
      bytes.subarray(0, bytes.length / 2),
      gzipSync(tar.subarray(0, tar.length / 2)),
    ]) {
      const { numbers, problem } = await read(cut)
      expect(problem).match(/unexpected end/i)
      expect(numbers.length).within(10, 20)
      expect(numbers).deep.equal(whole.numbers.slice(0, numbers.length))
    }
  })

  it('is rejected if it is of another day or an HTML page', async () => {
    const other = await read(await packageOf({ ...ISSUE, day: '2026-03-03' }))
    expect(other).deep.equal({ numbers: [], problem: 'it is of the day 20260303' })
    const html = await read(Buffer.from('<!doctype html><html>Maintenance</html>'))
    expect(html.numbers).deep.equal([])
    expect(html.problem).match(/header/)
  })

  it('skips path traversal, links and other files', async () => {
    const body = '<?xml version="1.0"?>'
    const bytes = gzipSync(
      await tarOf([
        { name: '../../20260302_041/00000001_2026.xml', body },
        { name: '/20260302_041/00000002_2026.xml', body },
        { name: '20260302_041/../00000003_2026.xml', body },
        { name: '20260302_041/00000004_2026.xml', body, type: 'symlink' },
        { name: '20260302_041/00000005_2026.exe', body },
        { name: '20260302_041/00000006_2026.xml', body },
      ]),
    )
    expect(await read(bytes)).deep.equal({ numbers: ['6-2026'], problem: null })
  })

  it('is aborted if it unpacks to more, or has more members, than the limits', async () => {
    const bomb = gzipSync(
      await tarOf([{ name: '20260302_041/00000001_2026.xml', body: ' '.repeat(4_000_000) }]),
    )
    expect(bomb.length).below(10_000)
    const limits = { ...SETTINGS.limits, unpacked: 1_000_000 }
    expect(await read(bomb, limits)).deep.equal({
      numbers: [],
      problem: 'more than 1000000 bytes when unpacked',
    })
    const bytes = await packageOf(ISSUE)
    const many = await read(bytes, { ...SETTINGS.limits, members: 2 })
    expect(many).deep.equal({ numbers: ['1-2026', '2-2026'], problem: 'more than 2 members' })
  })

  it('skips a document above the size limit', async () => {
    const bytes = await packageOf(ISSUE)
    expect(await read(bytes, { ...SETTINGS.limits, document: 100 })).deep.equal({
      numbers: [],
      problem: null,
    })
  })
})
