import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect } from 'chai'
import { hasMetaToken } from '../../../../core/catalog/listings/find-proof.ts'

const TOKEN = 'a'.repeat(43)
const META = `<meta name="agenthub-verification" content="${TOKEN}">`
const PAGE_BYTES = 262_144

describe('A134 the proof of ownership in the head of a page', () => {
  const pages: Readonly<Record<string, string>> = {
    quoted: `<!doctype html><html><head>${META}</head><body></body></html>`,
    'without quotes': `<meta name=agenthub-verification content=${TOKEN}>`,
    'in other case and order': `<META CONTENT='${TOKEN}' Name="AgentHub-Verification" />`,
    'after a script that contains markup': `<script>"<body>"</script>${META}`,
    'far from the beginning': `<style>${'x'.repeat(100_000)}</style>${META}`,
  }
  for (const [title, page] of Object.entries(pages)) {
    it(`is found ${title}`, async () => {
      expect(await hasMetaToken(page, TOKEN)).to.equal(true)
    })
  }

  const others: Readonly<Record<string, string>> = {
    'in a comment': `<head><!-- ${META} --></head>`,
    'in a script': `<script>${META}</script>`,
    'in the body, where others may write': `<head></head><body>${META}`,
    'in the text of an attribute': `<meta name="description" content='${META}'>`,
    'of another name': META.replace('agenthub', 'other'),
    'with another token': META.replace('aaa', 'aab'),
  }
  for (const [title, page] of Object.entries(others)) {
    it(`is not found ${title}`, async () => {
      expect(await hasMetaToken(page, TOKEN)).to.equal(false)
    })
  }

  it('is looked for without holding the event loop, whatever the page contains', async () => {
    const pieces = ['<!--', '<', '<meta ', '<meta name=', '<a><b>', '<svg><', '</p>', '&#', '<!']
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    for (const piece of pieces) {
      const page = piece.repeat(PAGE_BYTES / piece.length)
      expect(await hasMetaToken(page, TOKEN), piece).to.equal(false)
    }
    delay.disable()
    expect(delay.max / 1e6, 'milliseconds; a quadratic search takes seconds').to.be.below(1_000)
  })
})
