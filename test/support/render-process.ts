import nock from 'nock'
import { openReading } from './browser.ts'

/** Renders a page that never comes to an end, to be killed by a test; says when it is at it. */
nock.restore()
const { renderer, site } = await openReading()
const rendering = renderer.render({ url: 'http://owner.test/bomb/loop', deadlineMs: 60_000 })
rendering.catch(() => undefined)
while (site.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
process.stdout.write(`${renderer.pids.join(' ')}\n`)
