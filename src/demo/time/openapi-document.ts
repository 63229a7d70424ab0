/**
 * The OpenAPI document that FastAPI generates for the same seven operations, with the same order of keys, so that frontends see the same functions.
 */
export const timeServerDocument = {
  openapi: '3.1.0',
  info: {
    title: 'Secure Time Utilities API',
    description: 'Provides secure UTC/local time retrieval, formatting, timezone conversion, and comparison.',
    version: '1.0.0',
  },
  paths: {
    '/get_current_utc_time': readOperation({
      summary: 'Current UTC time',
      description: 'Returns the current time in UTC in ISO format.',
      operationId: 'get_current_utc_get_current_utc_time_get',
    }),
    '/get_current_local_time': readOperation({
      summary: 'Current Local Time',
      description: 'Returns the current time in local timezone in ISO format.',
      operationId: 'get_current_local_get_current_local_time_get',
    }),
    '/format_time': bodyOperation('FormatTimeInput', {
      summary: 'Format current time',
      description: 'Return the current time formatted for a specific timezone and format.',
      operationId: 'format_current_time_format_time_post',
    }),
    '/convert_time': bodyOperation('ConvertTimeInput', {
      summary: 'Convert between timezones',
      description: 'Convert a timestamp from one timezone to another.',
      operationId: 'convert_time_convert_time_post',
    }),
    '/elapsed_time': bodyOperation('ElapsedTimeInput', {
      summary: 'Time elapsed between timestamps',
      description: 'Calculate the difference between two timestamps in chosen units.',
      operationId: 'elapsed_time_elapsed_time_post',
    }),
    '/parse_timestamp': bodyOperation('ParseTimestampInput', {
      summary: 'Parse and normalize timestamps',
      description: 'Parse human-friendly input timestamp and return standardized UTC ISO time.',
      operationId: 'parse_timestamp_parse_timestamp_post',
    }),
    '/list_time_zones': readOperation({
      summary: 'All valid time zones',
      description: 'Return a list of all valid IANA time zones.',
      operationId: 'list_time_zones_list_time_zones_get',
    }),
  },
  components: {
    schemas: {
      ConvertTimeInput: {
        properties: {
          timestamp: text('Timestamp', 'ISO 8601 formatted time string (e.g., 2024-01-01T12:00:00Z)'),
          from_tz: text('From Tz', 'Original IANA time zone of input (e.g. UTC or Europe/Berlin)'),
          to_tz: text('To Tz', 'Target IANA time zone to convert to'),
        },
        type: 'object',
        required: ['timestamp', 'from_tz', 'to_tz'],
        title: 'ConvertTimeInput',
      },
      ElapsedTimeInput: {
        properties: {
          start: text('Start', 'Start timestamp in ISO 8601 format'),
          end: text('End', 'End timestamp in ISO 8601 format'),
          units: {
            type: 'string',
            enum: ['seconds', 'minutes', 'hours', 'days'],
            title: 'Units',
            description: 'Unit for elapsed time',
            default: 'seconds',
          },
        },
        type: 'object',
        required: ['start', 'end'],
        title: 'ElapsedTimeInput',
      },
      FormatTimeInput: {
        properties: {
          format: text('Format', 'Python strftime format string', '%Y-%m-%d %H:%M:%S'),
          timezone: text('Timezone', 'IANA timezone name (e.g., UTC, America/New_York)', 'UTC'),
        },
        type: 'object',
        title: 'FormatTimeInput',
      },
      HTTPValidationError: {
        properties: { detail: { items: { $ref: '#/components/schemas/ValidationError' }, type: 'array', title: 'Detail' } },
        type: 'object',
        title: 'HTTPValidationError',
      },
      ParseTimestampInput: {
        properties: {
          timestamp: text('Timestamp', 'Flexible input timestamp string (e.g., 2024-06-01 12:00 PM)'),
          timezone: text('Timezone', 'Assumed timezone if none is specified in input', 'UTC'),
        },
        type: 'object',
        required: ['timestamp'],
        title: 'ParseTimestampInput',
      },
      ValidationError: {
        properties: {
          loc: { items: { anyOf: [{ type: 'string' }, { type: 'integer' }] }, type: 'array', title: 'Location' },
          msg: { type: 'string', title: 'Message' },
          type: { type: 'string', title: 'Error Type' },
        },
        type: 'object',
        required: ['loc', 'msg', 'type'],
        title: 'ValidationError',
      },
    },
  },
} as const;

interface OperationWords {
  summary: string;
  description: string;
  operationId: string;
}

function readOperation(words: OperationWords) {
  return { get: { ...words, responses: { '200': successfulResponse() } } };
}

function bodyOperation(schemaName: string, words: OperationWords) {
  return {
    post: {
      ...words,
      requestBody: { content: jsonContent(`#/components/schemas/${schemaName}`), required: true },
      responses: {
        '200': successfulResponse(),
        '422': { description: 'Validation Error', content: jsonContent('#/components/schemas/HTTPValidationError') },
      },
    },
  };
}

function successfulResponse() {
  return { description: 'Successful Response', content: { 'application/json': { schema: {} } } };
}

function jsonContent($ref: string) {
  return { 'application/json': { schema: { $ref } } };
}

function text(title: string, description: string, fallback?: string) {
  return { type: 'string', title, description, ...(fallback === undefined ? {} : { default: fallback }) };
}
