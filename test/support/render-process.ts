import nock from 'nock'
import { eventually } from './eventually.ts'
import { openRenderer } from './renderer-fixture.ts'

/**
 * Program: renders a page that never finishes, to be killed by a test; reports when it has started.
 */
nock.restore()
const { renderer, site } = await openRenderer()
const rendering = renderer.render({ url: 'http://owner.test/bomb/loop', deadlineMs: 60_000 })
rendering.catch(() => undefined)
await eventually(() => site.requests.length > 0)
process.stdout.write(`${renderer.pids.join(' ')}\n`)
