import { readFile } from 'node:fs/promises'
import nock from 'nock'
import { openReading } from './browser.ts'

/** Renders a page on a machine that lacks nearly everything, and tells how. */
nock.restore()
const { renderer, close } = await openReading()
const { body } = await renderer.render({
  url: 'http://owner.test/japanese',
  deadlineMs: 60_000,
})
const command = await readFile(`/proc/${renderer.pids[0]}/cmdline`, 'utf8')
process.stdout.write(JSON.stringify({ html: body.toString(), flags: command.split('\0') }))
await close()
