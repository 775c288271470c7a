import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ProcessGroup } from '../../../core/browser/watchdog.ts'
import { sleep } from '../../../core/clock.ts'
import { BROWSER_HOME } from '../../support/chromium.ts'
import { openRenderer } from '../../support/renderer-fixture.ts'
import { realSockets } from '../egress/fixture.ts'

const CHILD = fileURLToPath(new URL('../../support/render-process.ts', import.meta.url))

const profiles = async (): Promise<string[]> =>
  (await readdir(BROWSER_HOME)).filter((name) => name.startsWith('profile-'))

async function untilGone(pid: number): Promise<number> {
  const group = new ProcessGroup(pid)
  for (let tries = 0; tries < 150; tries++) {
    const left = (await group.processes()).length
    if (left === 0) return 0
    await sleep(100)
  }
  return (await group.processes()).length
}

describe('a browser', () => {
  realSockets()

  it('ends with the hub even if the hub is killed while a page runs endlessly', async () => {
    const child = spawn(process.execPath, [CHILD], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(child.stdout, 'data')
    const pid = Number(String(line))
    expect((await new ProcessGroup(pid).processes()).length).to.be.above(2)
    const own = (await profiles()).filter((name) => name.startsWith(`profile-${child.pid}-`))
    expect(own, 'profile of the killed hub').to.have.length(1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await untilGone(pid)).to.equal(0)
    // The next hub removes the profile of the killed one.
    const { renderer, close } = await openRenderer()
    await renderer.render({ url: 'http://owner.test/notes.txt', deadlineMs: 30_000 })
    expect(await profiles()).not.to.include(own[0])
    const [next = 0] = renderer.pids
    await close()
    expect(await untilGone(next)).to.equal(0)
    expect((await profiles()).filter((name) => name.includes(`-${process.pid}-`))).to.deep.equal([])
  })
})
