import { expect } from 'chai'
import type { RenderError } from '../../../core/plugin/render-error.ts'
import { type Article, read } from '../../../plugins/content/extract/index.ts'
import { PSEUDO_CLASSES } from '../../../server/rest/provider/domains/selectors.ts'
import { trusting, useRenderer } from '../../support/renderer-fixture.ts'
import { STORIES } from '../../support/site/pages.ts'
import { AUTHORITY_KEY } from '../egress/goodtls.ts'

const flat = (text: string): string => text.replaceAll(/\s+/g, ' ')

describe('a rendered page', () => {
  const reading = useRenderer(() => trusting(AUTHORITY_KEY))
  const render = (path: string, more: object = {}) =>
    reading().renderer.render({ url: `http://owner.test${path}`, deadlineMs: 15_000, ...more })
  const textOf = async (path: string) => flat((await render(path)).body.toString())

  const articles = new Map<string, Promise<Article>>()
  before(() => {
    for (const { path } of STORIES) {
      const article = render(path).then((page) => read(page))
      article.catch(() => undefined) // reported by its test
      articles.set(path, article)
    }
  })

  for (const { path, about, words, without = [] } of STORIES) {
    it(`${about} reads as a person sees it`, async () => {
      const { text } = await articles.get(path)!
      let from = 0
      for (const word of words) {
        const at = flat(text).indexOf(word, from)
        expect(at, `${word}\nin order in:\n${text}`).to.be.at.least(0)
        from = at
      }
      for (const word of without) expect(text).not.to.include(word)
    })
  }

  it('has the headers of the site, and is UTF-8 whatever was sent', async () => {
    const page = await render('/cyrillic-header')
    expect(page).to.include({ url: 'http://owner.test/cyrillic-header', status: 200 })
    expect(page.contentType).to.equal('text/html; charset=utf-8')
    expect(page.headers['content-type']).to.equal('text/html; charset=windows-1251')
  })

  it('contains no scripts, styles, handlers or frames of other hosts', async () => {
    const [html = '', framed = ''] = await Promise.all(['/shadow', '/frames'].map(textOf))
    expect(html).not.to.match(/<script|<style|customElements/)
    expect(framed.match(/<section data-frame="http:\/\/owner\.test\/frame">/g)).to.have.length(1)
    expect(framed.match(/shown in the town hall/g)).to.have.length(1)
  })

  it('cannot hide content by the names of form fields', async () => {
    const html = await textOf('/bomb/names')
    expect(html).to.include('<p>Seen</p>').and.to.include('<p>inside the form</p>')
  })

  it('is returned with its status if it is a 404', async () => {
    const { status, body } = await render('/missing')
    expect(status).to.equal(404)
    expect(body.toString()).to.include('No such page.')
  })

  it('is returned as bytes if a browser does not display it', async () => {
    const { body, contentType } = await render('/paper.pdf')
    expect(contentType).to.equal('application/pdf')
    expect(body.subarray(0, 8).toString()).to.equal('%PDF-1.4')
    const download = await render('/download')
    expect(download.body.toString()).to.equal('<p>kept</p>')
    const nothing = await render('/nothing')
    expect(nothing).to.include({ status: 204 })
    expect(nothing.body).to.have.length(0)
  })

  it('is read when its selector matches', async () => {
    const pages = await Promise.all([render('/late'), render('/late', { waitFor: '#story' })])
    const [early, late] = pages.map(({ body }) => body.toString())
    expect(early).not.to.include('<article')
    expect(late).to.include('<article id="story">')
  })

  it('can be awaited with every selector allowed in a rule', async () => {
    const forms = [...PSEUDO_CLASSES].map(([name, argument]) => {
      const inner = { none: '', selectors: '(b)', nth: '(2n+1)' }[argument]
      return `p:${name}${inner}`
    })
    expect((await render('/plain', { waitFor: forms.join() })).status).to.equal(200)
    const error = await render('/plain', { waitFor: 'p:eq(1)' }).catch((reason: unknown) => reason)
    expect((error as RenderError).code).to.equal('validation_failed')
  })

  it('is loaded over TLS only with a valid certificate', async () => {
    const { body, url } = await render('', { url: 'https://secure.test/plain' })
    expect(url).to.equal('https://secure.test/plain')
    expect(body.toString()).to.include('Ships below the quay')
    const error = await render('', { url: 'https://badtls.test/plain' }).catch(
      (reason: unknown) => reason,
    )
    expect((error as RenderError).code).to.equal('upstream_tls')
    expect(reading().site.requests).not.to.include('badtls.test /plain')
  })

  it('follows redirects within the allowed hosts, and reports the final URL', async () => {
    const pages = await Promise.all([
      render('/moved/here'),
      render('/moved/www', { hosts: ['www.owner.test'] }),
    ])
    const urls = ['http://owner.test/plain', 'http://www.owner.test/plain']
    expect(pages.map(({ url }) => url)).to.deep.equal(urls)
  })
})
