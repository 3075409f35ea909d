/* The mock's queues, which run only when they are waited for. */
#include "mock_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

mock_cuda mock_state = {.version = 13000,
                        .devices = MOCK_DEVICES,
                        .capability = 90,
                        .newest = 100,
                        .fail_at = -1};
_Thread_local CUcontext mock_current;
_Thread_local bool mock_is_recording;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of everything */

__attribute__((visibility("default"))) mock_cuda *mock_cuda_state(void) {
  return &mock_state;
}

void mock_append(command_list *list, const command *c) {
  if (list->n == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 16;
    list->items = realloc(list->items, list->capacity * sizeof *list->items);
  }
  list->items[list->n++] = *c;
}

void mock_run_until(CUstream stream, size_t place) {
  while (stream->done < place && stream->done < stream->commands.n) {
    command c = stream->commands.items[stream->done++];
    if (stream->context->sticky == CUDA_SUCCESS)
      c.run(&c, stream);
  }
}

void mock_lock(void) {
  pthread_mutex_lock(&lock);
}

CUresult mock_end(CUresult result) {
  pthread_mutex_unlock(&lock);
  return result;
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void mock_wait(void) {
  pthread_cond_wait(&changed, &lock);
}

void mock_notify(void) {
  pthread_cond_broadcast(&changed);
}

static int fail_in_turn(void) {
  return mock_state.fail_at >= 0 && mock_state.fail_at-- == 0 ? mock_state.fail_with
                                                              : CUDA_SUCCESS;
}

int mock_begin_anywhere(void) {
  mock_lock();
  return fail_in_turn();
}

CUresult mock_begin(void) {
  mock_lock();
  if (mock_current == NULL || mock_current->references == 0)
    return INVALID_CONTEXT;
  if (mock_current->sticky != CUDA_SUCCESS)
    return mock_current->sticky;
  return fail_in_turn();
}

CUresult mock_begin_unrecorded(void) {
  CUresult result = mock_begin();
  return result == CUDA_SUCCESS && mock_is_recording ? CAPTURE_UNSUPPORTED : result;
}

int mock_make(int begun, void *place, size_t size) {
  if (begun == CUDA_SUCCESS) {
    void *object = calloc(1, size);
    memcpy(place, &object, sizeof object);
    mock_state.handles++;
  }
  return mock_end(begun);
}

int mock_discard(void *object) {
  mock_lock();
  free(object);
  mock_state.handles--;
  return mock_end(CUDA_SUCCESS);
}

CUresult mock_push(CUstream stream, const command *c) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS && stream->context != mock_current)
    result = INVALID_CONTEXT;
  if (result == CUDA_SUCCESS && stream->graph)
    mock_record(stream->graph, c);
  else if (result == CUDA_SUCCESS)
    mock_append(&stream->commands, c);
  return mock_end(result);
}
