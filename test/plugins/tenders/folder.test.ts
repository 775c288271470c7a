import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { loadFolder } from '../../../plugins/tenders/store/folder.ts'
import { eformsNotice } from '../../support/eforms.ts'
import { packageOf, tarOf } from '../../support/ted-server.ts'
import { tendersDatabase } from './support.ts'

const DAY = '2026-03-02'
const clock = { now: () => new Date('2026-03-10T12:00:00Z') }
const notice = (number: string, day = DAY): string => eformsNotice({ number, day, ojs: '41/2026' })
const hit = {
  'publication-number': '9-2026',
  'publication-date': `${DAY}+01:00`,
  'form-type': 'competition',
  'classification-cpv': ['09310000'],
}

describe('tenders: a folder of notices', () => {
  let at: Awaited<ReturnType<typeof tendersDatabase>>
  let folder: string
  before(async () => {
    at = await tendersDatabase()
    folder = await mkdtemp(join(tmpdir(), 'tenders-'))
  })
  after(async () => {
    await at.close()
    await rm(folder, { recursive: true })
  })
  const files = async (contents: Readonly<Record<string, string | Buffer>>): Promise<void> => {
    for (const [name, content] of Object.entries(contents)) {
      await mkdir(join(folder, name, '..'), { recursive: true })
      await writeFile(join(folder, name), content)
    }
  }

  it('may be empty, and must exist', async () => {
    expect(await loadFolder(at.database, clock, folder)).to.include({ stored: 0, days: 0 })
    const missing = await loadFolder(at.database, clock, join(folder, 'none')).catch(String)
    expect(missing).to.include('cannot be read')
  })

  it('is read with archives and folders; what is not used is counted or explained', async () => {
    const issue = (number: string) => ({ number, xml: notice(number) })
    const day = { day: DAY, ojs: '41/2026', notices: [issue('3-2026'), issue('4-2026')] }
    const archive = await packageOf(day)
    const tar = [
      { name: '5.xml', body: notice('5-2026') },
      { name: 'README', body: 'x' },
    ]
    await files({
      'one.xml': notice('1-2026'),
      'a/b/c/d/e/f/TWO.XML': notice('2-2026'),
      'day.tar.gz': archive,
      'plain.tar': await tarOf(tar),
      '6.xml.gz': gzipSync(notice('6-2026')),
      'hits.json': `\ufeff${JSON.stringify({ notices: [hit, {}] })}`,
      'later.xml': notice('7-2026', '2026-03-09'),
      'cut.tgz': archive.subarray(0, 100),
      'page.tar.gz': '<!doctype html>',
      'pom.xml': '<project/>',
      'empty.xml': '',
      'package.json': '{}',
      'notes.md': '# Notes',
      'deep/notes.pdf': '%PDF',
    })
    const loaded = await loadFolder(at.database, clock, folder, '2026-03-05')
    expect(loaded).to.include({ stored: 7, ignored: 3, later: 1, days: 1 })
    const refused = loaded.refused.map(({ file, reason }) => `${file.split('/').at(-1)} ${reason}`)
    expect(refused).to.have.members([
      'cut.tgz bad_package',
      'page.tar.gz bad_package',
      'pom.xml unknown_schema',
      'empty.xml not_xml',
      'package.json unknown_schema',
      'hits.json unknown_schema',
    ])
    const again = await loadFolder(at.database, clock, join(folder, 'day.tar.gz'))
    expect(again).to.include({ stored: 0, unchanged: 2, ignored: 0 })
  })
})
