import { readFile } from 'node:fs/promises'
import nock from 'nock'
import { openRenderer } from './renderer-fixture.ts'

/** Program: renders a page with almost no environment and prints the result. */
nock.restore()
const { renderer, close } = await openRenderer()
const { body } = await renderer.render({
  url: 'http://owner.test/japanese',
  deadlineMs: 60_000,
})
const command = await readFile(`/proc/${renderer.pids[0]}/cmdline`, 'utf8')
process.stdout.write(JSON.stringify({ html: body.toString(), flags: command.split('\0') }))
await close()
