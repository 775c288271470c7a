import { expect } from 'chai'
import * as fc from 'fast-check'
import { isPublicAddress } from '../../../core/egress/address.ts'

const PUBLIC = `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0
  126.255.255.255 128.0.0.1 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255
  172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255
  198.20.0.0 203.0.112.255 203.0.114.0 223.255.255.255
  2001:200::1 2001:4860:4860::8888 2003::1 2400:cb00::1 2606:4700:4700::1111 2620:4f:7fff::1
  2a00:1450:4001::1 3ffe:ffff::1 3fff:1000::1`

const NOT_PUBLIC = `0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1
  127.255.255.254 168.63.129.16 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1
  192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.175.48.1 198.18.0.1
  198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 0:0:0:1::1
  64:ff9b::a9fe:a9fe 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 100:0:0:1::1 1234::1
  2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:1ff:ffff::1
  2001:db8::1 2002:7f00:1::1 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff::1
  4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 2606:4700::1%eth0 fec0::1 ff02::1`

const words = (text: string) => text.trim().split(/\s+/)

describe('a public address', () => {
  it('is an address of the internet', () => {
    expect(words(PUBLIC).filter((ip) => !isPublicAddress(ip))).to.deep.equal([])
  })

  it('is not in a special range and does not embed an IPv4 address', () => {
    expect(words(NOT_PUBLIC).filter(isPublicAddress)).to.deep.equal([])
  })

  it('is not a name or another spelling', () => {
    for (const text of ['', 'localhost', '127.1', '0x7f.1', '2130706433', '[::1]', '8.8.8.8 ']) {
      expect(isPublicAddress(text), text).to.equal(false)
    }
  })

  it('is never a mapped IPv4 address', () => {
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        for (const prefix of ['::ffff:', '::', '64:ff9b::']) {
          expect(isPublicAddress(`${prefix}${ip}`)).to.equal(false)
        }
      }),
    )
  })
})
