import { expect } from 'chai'
import * as fc from 'fast-check'
import { parseTilePath, tilePath } from '../../../../core/ledger/transparency/tile.ts'

describe('the path of a tile', () => {
  it('is written as in the examples of C2SP tlog-tiles', () => {
    expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).to.equal('tile/0/x001/x234/067')
    expect(tilePath({ level: 0, index: 273, width: 112 })).to.equal('tile/0/273.p/112')
    expect(tilePath({ level: 0, index: 1_234, width: 56 })).to.equal('tile/0/x001/234.p/56')
    expect(tilePath({ level: 1, index: 0, width: 1 })).to.equal('tile/1/000.p/1')
    const bundle = { level: 0, index: 273, width: 112 }
    expect(tilePath(bundle, 'entries')).to.equal('tile/entries/273.p/112')
    expect(parseTilePath('tile/entries/273.p/112')).to.deep.equal({
      tile: bundle,
      content: 'entries',
    })
    expect(tilePath({ level: 2, index: 1_000, width: 256 })).to.equal('tile/2/x001/000')
  })

  it('is parsed to the tile that it was written for', () => {
    fc.assert(
      fc.property(
        fc.nat(5).chain((level) =>
          fc.record({
            level: fc.constant(level),
            index: fc.nat(Math.min(2 ** 40, 256 ** (5 - level)) - 1),
            width: fc.integer({ min: 1, max: 256 }),
          }),
        ),
        (tile) => {
          expect(parseTilePath(tilePath(tile))?.tile).to.deep.equal(tile)
        },
      ),
    )
  })

  it('is refused if it could be written in another way, or lies outside a tree', () => {
    const refused = [
      'tile/6/000',
      'tile/00/000',
      'tile/0/0',
      'tile/0/1234',
      'tile/0/x000/001',
      'tile/0/001/x002',
      'tile/0/x001',
      'tile/0/000.p/0',
      'tile/0/000.p/256',
      'tile/0/000.p/257',
      'tile/0/000.p/01',
      'tile/5/001',
      'tile/0/x999/x999/x999/x999/999',
      'tile/0/000/',
      '/tile/0/000',
      'tile/entry/000',
      'tile/entries/0',
      '../tile/0/000',
    ]
    for (const path of refused) expect(parseTilePath(path), path).to.equal(undefined)
  })
})
