import { expect, test } from '@jest/globals'
import { corsHeaders } from '#shared/platform/request/respond.ts'
import { localSettings } from '#test/support/settings.ts'

test.each(['WWW-Authenticate', 'x-amzn-Remapped-WWW-Authenticate', 'baggage'])(
  '%s is exposed to scripts',
  (name) => {
    const headers = corsHeaders('http://localhost:5173', localSettings, false)
    expect(headers['Access-Control-Expose-Headers']?.split(', ')).toContain(name)
  },
)
