import { createSocket } from 'node:dgram'
import { connect } from 'node:net'
import { expect } from 'chai'
import { type Process, ProcessGroup } from '../../../core/browser/watchdog.ts'
import type { RenderRequest } from '../../../core/plugin/parts.ts'
import { RenderError } from '../../../core/plugin/render-error.ts'
import { eventually } from '../../support/eventually.ts'
import { useRenderer } from '../../support/renderer-fixture.ts'
import { HEAVY_BYTES } from '../../support/site/hostile.ts'

const MIB = 1_048_576

describe('a malicious page', () => {
  const reading = useRenderer()
  const render = (path: string, more: Partial<RenderRequest> = {}) =>
    reading().renderer.render({ url: `http://owner.test${path}`, deadlineMs: 20_000, ...more })
  const codeOf = async (path: string, more: Partial<RenderRequest> = {}): Promise<string> => {
    const outcome = await render(path, more).then(
      ({ body }) => `delivered: ${body.toString().slice(0, 200)}`,
      (error: unknown) => error,
    )
    return outcome instanceof RenderError ? outcome.code : String(outcome)
  }
  const pidOf = (): number => reading().renderer.pids[0] ?? 0

  it('cannot reach this machine by TCP or UDP under any name (A093)', async () => {
    const { canary } = reading().site
    const { body, status } = await render('/evil', { waitFor: '#told.done' })
    expect(status).to.equal(200)
    const [attempts = ''] = /\{.*?\}/.exec(body.toString()) ?? []
    const all = { fetch: 6, socket: 6, events: 6, worker: 6 }
    expect(JSON.parse(attempts), 'what was tried, and failed').to.deep.equal(all)
    expect(canary.heard).to.deep.equal([])
    // The canary does detect connections.
    connect(canary.port, '127.0.0.1').on('error', () => undefined)
    const udp = createSocket('udp4').unref()
    udp.send('x', canary.port, '127.0.0.1')
    await eventually(async () => canary.heard.length === 2)
    udp.close()
    expect(canary.heard.splice(0).toSorted()).to.deep.equal(['tcp', 'udp'])
  })

  it('cannot lead to this machine, another host or a blank page (A094)', async () => {
    const { canary, requests } = reading().site
    const ways = ['location', 'late', 'refresh', 'form']
    const paths = ways.flatMap((way) => [`/lead/${way}/inside`, `/lead/${way}/elsewhere`])
    paths.push('/lead/late/blank', '/moved/inside', '/moved/elsewhere')
    const outcomes = await Promise.all(paths.map(async (path) => [path, await codeOf(path)]))
    expect(outcomes).to.deep.equal(paths.map((path) => [path, 'content_redirected']))
    expect(canary.heard).to.deep.equal([])
    expect(requests.filter((each) => each.startsWith('stranger.test /plain'))).to.deep.equal([])
  })

  it('is refused if its host is not public, or its port or scheme is not allowed', async () => {
    const { port } = reading().site.canary
    const cases = [
      [`http://127.0.0.1:${port}/`, 'destination_not_allowed'],
      [`http://rebind.test:${port}/`, 'destination_not_allowed'],
      ['http://owner.test:22/', 'validation_failed'],
      ['file:///etc/passwd', 'validation_failed'],
      ['chrome://version', 'validation_failed'],
      ['http://user:secret@owner.test/', 'validation_failed'],
    ] as const
    for (const [url, code] of cases) expect(await codeOf('', { url }), url).to.equal(code)
    expect(reading().site.canary.heard).to.deep.equal([])
  })

  it('leaves no state for the next caller (A097)', async () => {
    for (const caller of ['first', 'second']) {
      const { body } = await render('/state')
      expect(body.toString(), caller)
        .to.include('["",null,null,0,0]')
        .and.to.include('<p>sent: []</p>')
    }
  })

  it('times out at its deadline, also after the time in which a browser must start', async () => {
    expect(await codeOf('/silent', { deadlineMs: 21_000 })).to.equal('upstream_timeout')
  })

  it('is stopped if it never ends, without restarting the browser (A096)', async () => {
    const before = pidOf()
    expect(await codeOf('/bomb/loop', { deadlineMs: 1_500 })).to.equal('render_limit_exceeded')
    expect(await codeOf('/plain')).to.match(/^delivered/)
    expect(pidOf()).to.equal(before)
  })

  it('is stopped if it exhausts memory, and other pages are not (A096)', async () => {
    const before = pidOf()
    for (const kind of ['array', 'buffers', 'dom']) {
      const bomb = codeOf(`/bomb/${kind}`, { waitFor: '#never', deadlineMs: 20_000 })
      expect(await codeOf('/plain')).to.match(/^delivered/)
      expect(await bomb, kind).to.equal('render_limit_exceeded')
    }
    expect(reading().logged.splice(0), 'logged for the operator').not.to.be.empty
    expect(pidOf()).to.equal(before)
  })

  it('is stopped if it is too large in any encoding', async () => {
    const large = ['/bomb/long', '/large.pdf', '/endless']
    const outcomes = await Promise.all(large.map((path) => codeOf(path)))
    expect(outcomes).to.deep.equal(large.map(() => 'upstream_too_large'))
    const late = ['render_limit_exceeded', 'upstream_too_large', 'upstream_timeout']
    expect(await codeOf('/zip', { deadlineMs: 1_500 })).to.be.oneOf(late)
  })

  it('times out if it does not respond', async () => {
    const outcomes = await Promise.all([
      codeOf('/silent', { deadlineMs: 800 }),
      codeOf('/slow-body', { deadlineMs: 2_500 }),
      codeOf('/cut'),
      codeOf('/bomb/reload'),
    ])
    const late = 'upstream_timeout'
    expect(outcomes).to.deep.equal([late, late, 'upstream_unreachable', 'render_limit_exceeded'])
    expect(await codeOf('/moved/round')).to.equal('upstream_redirect')
    const signal = AbortSignal.timeout(300)
    expect(await codeOf('/silent', { signal })).to.equal(late)
  })

  it('has its dialogs dismissed and its popups closed', async () => {
    const { requests } = reading().site
    const outcomes = await Promise.all([
      codeOf('/bomb/alerts'),
      codeOf('/bomb/popups'),
      codeOf('/bomb/deep', { maxBytes: MIB }),
    ])
    for (const each of outcomes) expect(each).to.match(/^delivered/)
    expect(requests.filter((each) => each.endsWith('/plain')).length).to.be.below(60)
  })

  it('cannot exhaust the memory of the hub by console output', async () => {
    const before = process.memoryUsage().rss
    expect(await codeOf('/bomb/console')).to.match(/^delivered/)
    expect(process.memoryUsage().rss - before).to.be.below(100 * MIB)
  })

  it('fails alone if its process is killed (A098)', async () => {
    const before = pidOf()
    const dying = codeOf('/heavy', { waitFor: '#never' })
    const living = codeOf('/late', { waitFor: '#story' })
    const group = new ProcessGroup(before)
    let heavy: Process | undefined
    await eventually(async () => {
      const pages = (await group.processes()).filter(({ isPage }) => isPage)
      heavy = pages.find(({ bytes }) => bytes > HEAVY_BYTES)
      return heavy !== undefined
    })
    process.kill(heavy!.pid, 'SIGKILL')
    expect(await dying).to.equal('render_failed')
    expect(await living).to.match(/^delivered/)
    expect(pidOf()).to.equal(before)
  })

  it('fails if its browser is killed, and another browser starts', async () => {
    const { renderer, site } = reading()
    const before = pidOf()
    const from = site.requests.length
    const dying = [codeOf('/silent'), codeOf('/late', { waitFor: '#never' })]
    const both = ['owner.test /silent', 'owner.test /late']
    await eventually(async () => both.every((each) => site.requests.slice(from).includes(each)))
    process.kill(before, 'SIGKILL')
    expect(await Promise.all(dying)).to.deep.equal(['render_failed', 'render_failed'])
    expect(await codeOf('/plain')).to.match(/^delivered/)
    expect(renderer.pids).to.have.length(1)
    expect(pidOf()).not.to.equal(before)
  })

  it('is refused if too many callers wait, and the number of browsers stays limited', async () => {
    const { renderer } = reading()
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, () => codeOf('/silent', { deadlineMs: 1_000 })),
    )
    expect(new Set(outcomes)).to.deep.equal(new Set(['upstream_timeout', 'render_unavailable']))
    expect(renderer.pids).to.have.length(1)
    expect(await codeOf('/plain')).to.match(/^delivered/)
  })
})

it('a hub that renders nothing starts no browser', async () => {
  const { openRenderer } = await import('../../support/renderer-fixture.ts')
  const { renderer, close } = await openRenderer()
  expect(renderer.pids).to.deep.equal([])
  await close()
})
