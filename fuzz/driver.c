// SPDX-License-Identifier: Apache-2.0
// Replays files through a fuzz target without libFuzzer: every regular file of the folders and
// files named as arguments.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PATH = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    // Exactly as large as the input, so that a sanitizer sees one byte too many.
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (file == NULL || data == NULL || fread(data, 1, size, file) != size) {
        perror(path);
        free(data);
        if (file != NULL) {
            fclose(file);
        }
        return 1;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int replay(const char *path, size_t *count);

static int replay_folder(const char *path, size_t *count) {
    DIR *dir = opendir(path);
    if (dir == NULL) {
        perror(path);
        return 1;
    }
    int failed = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char child[MAX_PATH];
        int length = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || length < 0 || (size_t)length >= sizeof child) {
            continue;
        }
        failed |= replay(child, count);
    }
    closedir(dir);
    return failed;
}

static int replay(const char *path, size_t *count) {
    struct stat info;
    if (stat(path, &info) != 0) {
        perror(path);
        return 1;
    }
    if (S_ISDIR(info.st_mode)) {
        return replay_folder(path, count);
    }
    fprintf(stderr, "%s\n", path); // the last line tells which input ended the process
    *count += 1;
    return replay_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv) {
    size_t count = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        failed |= replay(argv[i], &count);
    }
    printf("%zu inputs\n", count);
    // A corpus that went missing must not look like a pass.
    return failed != 0 || count == 0;
}
