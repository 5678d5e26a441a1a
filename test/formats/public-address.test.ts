import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { fileUrl, isPublicAddress } from '#shared/platform/formats/public-address.ts'
import { timeRatio } from '#test/support/linear-time.ts'

const refused = (code: string) => expect.objectContaining({ code })
const attempt = (url: string) => {
  try {
    return fileUrl(url, 'file_url').hostname
  } catch (thrown) {
    return thrown
  }
}

describe('an address', () => {
  test.each(['8.8.8.8', '93.184.216.34', '172.15.0.1', '172.32.0.1', '2606:2800:220:1::1', '::ffff:8.8.8.8'])(
    '%s is public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )

  const notPublic = `
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1
    172.31.255.255 192.0.0.1 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1
    239.1.1.1 240.0.0.1 255.255.255.255 168.63.129.16 100.100.100.200
    :: ::1 ::127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 fe80::1 fec0::1 fc00::1 fd00:ec2::254
    ff02::1 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2001::1 2001:db8::1 100::1 3fff::1 fe80::1%eth0
    ::ffff:0:127.0.0.1
  `
  test.each([...notPublic.trim().split(/\s+/), 'nonsense', ''])('%s is not public', (address) =>
    expect(isPublicAddress(address)).toBe(false),
  )
})

describe('a file_url', () => {
  test.each([
    ['full-width digits', 'https://①②⑦.0.0.1/'],
    ['percent-encoded', 'https://%31%32%37.0.0.1/'],
    ['zero', 'https://0/'],
    ['with a port', 'https://10.0.0.1:8443/file.csv'],
    ['IPv6 loopback', 'https://[::1]/'],
    ['IPv6-mapped', 'https://[::ffff:127.0.0.1]/'],
    ['NAT64', 'https://[64:ff9b::a00:1]/'],
    ['6to4', 'https://[2002:a00:1::]/'],
    ['the metadata service in IPv6', 'https://[fd00:ec2::254]/'],
    ['over http', 'http://10.0.0.1/file.csv'],
    ['IPv6 over http', 'http://[::1]:8080/file.csv'],
    ['the metadata service over http', 'http://169.254.169.254/latest/meta-data'],
    ['over ftp', 'ftp://192.168.0.1/file.csv'],
    ['with credentials', 'https://user:secret@10.0.0.1/file.csv'],
  ])('with a private address, %s, is rejected', (_, url) => {
    expect(attempt(url)).toEqual(refused('VALIDATION.url.private_range'))
  })

  test.each([
    'https://localhost/',
    'https://localhost:8443/file.csv',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://localhost../',
    'https://ｌｏｃａｌｈｏｓｔ/',
    'https://%6cocalhost/',
    'https://files.localhost/',
    'https://localhost.localdomain/',
    'https://ip6-loopback/',
    'https://intranet/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://router.home.arpa/',
    'http://localhost/file.csv',
    'http://metadata.google.internal/computeMetadata/v1/',
  ])('of a local host, %s, is rejected', (url) => {
    expect(attempt(url)).toEqual(refused('VALIDATION.url.private_range'))
  })

  test.each(['https://localhost.example.com/', 'https://mylocalhost.com/', 'https://internal.example.org/'])(
    'that only contains such a name, %s, is accepted',
    (url) => expect(attempt(url)).toBe(new URL(url).hostname),
  )

  test.each([
    ['http://example.com/file.csv', 'https_url'],
    ['ftp://example.com/file.csv', 'https_url'],
    ['http://8.8.8.8/file.csv', 'https_url'],
    ['file:///etc/passwd', 'https_url'],
    ['mailto:files@10.0.0.1', 'https_url'],
    ['https://', 'https_url'],
    ['//example.com', 'https_url'],
    [`https://${'a.'.repeat(126)}ab`, 'https_url'],
    ['https://[fe80::1%25eth0]/', 'https_url'],
    ['https://user:secret@example.com/', 'credentials'],
    ['https://user@example.com/', 'credentials'],
  ])('%s is rejected as malformed', (url, reason) => {
    expect(attempt(url)).toMatchObject({
      code: 'VALIDATION.field.format',
      details: { fields: { file_url: { reason } } },
    })
  })

  test('of the longest host is accepted', () => {
    const host = `${'a.'.repeat(126)}a`
    expect(attempt(`https://${host}/`)).toBe(host)
  })

  test('is rejected in linear time, however many dots its host has', () => {
    const textOf = (length: number) => `https://a${'.'.repeat(length)}a/`
    expect(timeRatio(attempt, textOf, 200_000)).toBeLessThan(4)
  })

  test('is rejected in every notation of a private IPv4 address', () => {
    const octets = fc.oneof(
      fc.tuple(fc.constantFrom(10, 127), fc.nat(255), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constant(192), fc.constant(168), fc.nat(255), fc.nat(255)),
      fc.tuple(fc.constant(169), fc.constant(254), fc.nat(255), fc.nat(255)),
    )
    const written = fc.array(fc.constantFrom(8, 10, 16), { minLength: 4, maxLength: 4 })
    const numeral = (value: number, base: number) =>
      base === 8 ? `0${value.toString(8)}` : base === 16 ? `0x${value.toString(16)}` : String(value)
    fc.assert(
      fc.property(
        octets,
        written,
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        (parts, bases, count, dot) => {
          // The last number of a short form represents all remaining octets.
          const last = parts.slice(count - 1).reduce((sum, octet) => sum * 256 + octet, 0)
          const numbers = [...parts.slice(0, count - 1), last]
          const host = numbers.map((value, index) => numeral(value, bases[index] as number)).join('.')
          expect(attempt(`https://${host}${dot ? '.' : ''}/`)).toEqual(
            refused('VALIDATION.url.private_range'),
          )
          const hex = parts.map((octet) => octet.toString(16).padStart(2, '0')).join('')
          const mapped = `[::ffff:${hex.slice(0, 4)}:${hex.slice(4)}]`
          expect(attempt(`https://${mapped}/`)).toEqual(refused('VALIDATION.url.private_range'))
        },
      ),
    )
  })

  test('with a host name is accepted, and resolved during the download', () => {
    expect(attempt('https://files.example.com/customers.csv?signature=x')).toBe('files.example.com')
    expect(attempt('https://8.8.8.8/')).toBe('8.8.8.8')
  })
})
