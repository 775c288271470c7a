import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'chai'
import nock from 'nock'
import { eventually } from '../../support/eventually.ts'

const PROGRAM = join(import.meta.dirname, 'early-process.ts')

describe('a primary process whose workers need nothing of it', () => {
  let child: ChildProcess
  let printed: string
  before(() => nock.restore())
  after(() => nock.activate())
  afterEach(() => child.kill('SIGKILL'))

  const start = (mode: string): void => {
    printed = ''
    child = spawn(process.execPath, [PROGRAM, mode], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout!.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  }
  const untilPrinted = (line: RegExp): Promise<unknown> => eventually(() => line.test(printed))

  it('loads after a worker serves', async () => {
    start('serves')
    await untilPrinted(/loads/)
    expect(printed).to.match(/^serves \d+\nloads\n$/)
  })

  it('loads if its workers fail', async () => {
    start('fails')
    await untilPrinted(/loads/)
    expect(printed).to.equal('loads\n')
  })

  it('lets them answer their requests if it is stopped before it has loaded', async () => {
    start('serves')
    await untilPrinted(/loads/)
    const port = /serves (\d+)/.exec(printed)![1]
    const answer = fetch(`http://127.0.0.1:${port}/`)
    await untilPrinted(/asked/)
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await (await answer).text()).to.equal('answered')
    expect(await exit).to.deep.equal([0, null])
  })
})
