import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { useHub } from '../support/suite.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')

describe('README.md', () => {
  const hub = useHub()
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const blocks = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!)

  it('has an agent that registers, calls, gets test money and buys credits', async () => {
    const program = `${blocks.slice(0, -1).join('\n')}
const { body: balance } = await client.balance()
console.log(balance['balance_microdollars'])`.replace('http://127.0.0.1:8402', hub().url)
    const flags = ['--input-type=module-typescript', '-e', program]
    const { stdout } = await run(process.execPath, flags, { cwd: ROOT })
    expect(stdout)
      .to.match(/^free 0n /)
      .and.match(/\n5000000\n$/)
  })
})
